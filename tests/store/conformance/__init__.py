"""What every store must do, asked of each of them."""

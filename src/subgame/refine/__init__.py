"""Re-solving: gadgets, subgames, nested solving, depth limits. Called, it is `refine.refine`."""

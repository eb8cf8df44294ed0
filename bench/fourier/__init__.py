"""Maps of many rows: `FourierGRLSRegressor` alone, and beside the exact model."""

"""Maps of many rows: `FourierGRLSRegressor` alone, and beside kriging packages."""

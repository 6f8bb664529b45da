"""Machine-made mutants of claims and algorithms, null algorithms, and which checks notice them."""

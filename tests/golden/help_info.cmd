sonde help info

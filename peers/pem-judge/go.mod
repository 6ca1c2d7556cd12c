module drawbridge.invalid/peers/pem-judge

go 1.26.2

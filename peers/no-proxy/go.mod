module drawbridge.invalid/peers/no-proxy

go 1.26.2

require golang.org/x/net v0.55.0

require golang.org/x/text v0.37.0 // indirect

/** Of the loopback device: what a server with the strategy destHost gives to this agent only. */
export const agentAddress = (number: number): string => `127.1.${number >> 8}.${number & 255}`;

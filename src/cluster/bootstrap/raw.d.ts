/** Text files that travel inside the bundle, as they are. */
declare module "*?raw" {
  const text: string;
  export default text;
}

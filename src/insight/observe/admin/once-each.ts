/** The same answer for the same thing, made when it is first asked for and forgotten with the thing. */
export function onceEach<Thing extends object, Answer extends object>(
  make: (thing: Thing) => Answer,
): (thing: Thing) => Answer {
  const made = new WeakMap<Thing, Answer>();
  return (thing) => {
    let answer = made.get(thing);
    if (answer === undefined) {
      answer = make(thing);
      made.set(thing, answer);
    }
    return answer;
  };
}

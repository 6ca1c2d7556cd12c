/** Where an executable begins. */
import type { Runnable } from "./define.js";
import { main } from "./output.js";

/** Runs the command, or says how its command line could go on. */
export function startProgram(program: string, command: Runnable, misuse?: number): void {
  void main(async ([first, ...rest]) => {
    if (first === undefined) return command.run(program, [], misuse);
    if (first !== "__complete") return command.run(program, [first, ...rest], misuse);
    const { answerCompletion } = await import("../completion/answer.js");
    return answerCompletion(program, command, rest);
  });
}

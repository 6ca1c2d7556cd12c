/** The fields of one protobuf message, one after the other, without an object for each. */
import { type ConnectId, WireError } from "./packet.js";
import { Int64Reader, VarintReader } from "./varint.js";

const MAX_FIELD_NUMBER = 2 ** 29 - 1;

const varint = new VarintReader();
const int64 = new Int64Reader();

export class FieldReader {
  /** Of the present field. */
  number = 0;
  /** `skipped`: of a wire type that no field of ours has. */
  kind: "int" | "bytes" | "skipped" = "skipped";
  int: ConnectId = 0;
  /** Where its bytes are. */
  from = 0;
  to = 0;
  #body: Buffer;
  #at: number;
  #end: number;

  constructor(body: Buffer, from = 0, to = body.length) {
    this.#body = body;
    this.#at = from;
    this.#end = to;
  }

  /** False when there are no more. */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    if (!varint.read(this.#body, this.#at, this.#end)) throw new WireError("field tag is cut short");
    this.#at = varint.at;
    this.number = Math.floor(varint.value / 8);
    if (this.number < 1 || this.number > MAX_FIELD_NUMBER) throw new WireError("field number is out of range");
    switch (varint.value % 8) {
      case 0:
        if (!int64.read(this.#body, this.#at, this.#end)) throw new WireError("integer field is cut short");
        this.kind = "int";
        this.int = int64.value;
        this.#at = int64.at;
        break;
      case 1:
        this.#pass("skipped", 8);
        break;
      case 2:
        if (!varint.read(this.#body, this.#at, this.#end)) throw new WireError("field length is cut short");
        this.#at = varint.at;
        this.#pass("bytes", varint.value);
        break;
      case 5:
        this.#pass("skipped", 4);
        break;
      default:
        throw new WireError("field has a wire type that does not exist in proto3");
    }
    return true;
  }

  #pass(kind: "bytes" | "skipped", length: number): void {
    if (this.#at + length > this.#end) throw new WireError("field is longer than its message");
    this.kind = kind;
    this.from = this.#at;
    this.#at += length;
    this.to = this.#at;
  }
}

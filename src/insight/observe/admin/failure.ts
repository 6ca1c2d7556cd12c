import type { ErrorCode } from "../../../base/errors/catalogue.js";
import type { ApiError, ApiFault } from "./contract.js";

/** Ends a request with a status and an ApiError. */
export class ApiFailure extends Error {
  override readonly name = "ApiFailure";
  readonly status: number;
  readonly body: ApiError;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: ApiFault | ErrorCode,
    message: string,
    { remedy, headers = {} }: { readonly remedy?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message);
    this.status = status;
    this.body = { error: { code, message, ...(remedy === undefined ? {} : { remedy }) } };
    this.headers = headers;
  }
}

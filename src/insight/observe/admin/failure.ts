import type { ErrorCode } from "../../../base/errors/catalogue.js";
import type { ApiError, ApiFault } from "./contract.js";

/** Ends a request with a status and an ApiError. */
export class ApiFailure extends Error {
  override readonly name = "ApiFailure";
  readonly status: number;
  readonly code: ApiFault | ErrorCode;
  readonly remedy: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: ApiFault | ErrorCode,
    message: string,
    { remedy, headers = {} }: { readonly remedy?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.remedy = remedy;
    this.headers = headers;
  }

  get body(): ApiError {
    const { code, message, remedy } = this;
    return { error: { code, message, ...(remedy === undefined ? {} : { remedy }) } };
  }
}

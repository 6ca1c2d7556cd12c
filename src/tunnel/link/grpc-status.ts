/** gRPC's status codes: numbers on the wire, names as Go prints them in metrics. */
import { Http2ErrorCode } from "./h2/frames.js";

export const GrpcStatus = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

export type GrpcStatusName = keyof typeof GrpcStatus;

/** Names by number. */
const GO_NAMES = (
  "OK Canceled Unknown InvalidArgument DeadlineExceeded NotFound AlreadyExists PermissionDenied ResourceExhausted " +
  "FailedPrecondition Aborted OutOfRange Unimplemented Internal Unavailable DataLoss Unauthenticated"
).split(" ");

export function goCodeName(status: number): string {
  return GO_NAMES[status] ?? "Unknown";
}

/** The gRPC status of a reset stream; a lost connection (no code) is Unavailable. */
export function statusOfReset(rstCode: number | undefined): number {
  switch (rstCode) {
    case Http2ErrorCode.CANCEL:
      return GrpcStatus.CANCELLED;
    case Http2ErrorCode.REFUSED_STREAM:
    case undefined:
      return GrpcStatus.UNAVAILABLE;
    case Http2ErrorCode.ENHANCE_YOUR_CALM:
      return GrpcStatus.RESOURCE_EXHAUSTED;
    default:
      return GrpcStatus.INTERNAL;
  }
}

/** grpc-message is percent-encoded: everything but printable ASCII, and the percent sign itself. */
export function encodeGrpcMessage(text: string): string {
  return text.replace(/[^\x20-\x24\x26-\x7e]/gu, (char) =>
    [...Buffer.from(char, "utf8")].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
}

export function decodeGrpcMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

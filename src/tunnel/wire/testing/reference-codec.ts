/** A foreign protobuf implementation of the same messages: the hand-made codec is compared with it. */
import protobuf from "protobufjs";

const SCHEMA = `
syntax = "proto3";
enum PacketType {
  DIAL_REQ = 0; DIAL_RSP = 1; CLOSE_REQ = 2; CLOSE_RSP = 3; DATA = 4; DIAL_CLS = 5; DRAIN = 6;
  CREDIT = 1000; END_OF_STREAM = 1001;
}
message Packet {
  PacketType type = 1;
  oneof payload {
    DialRequest dialRequest = 2; DialResponse dialResponse = 3; Data data = 4; CloseRequest closeRequest = 5;
    CloseResponse closeResponse = 6; CloseDial closeDial = 7; Drain drain = 8;
    Credit credit = 1000; EndOfStream endOfStream = 1001;
  }
}
message DialRequest { string protocol = 1; string address = 2; int64 random = 3; }
message DialResponse { string error = 1; int64 connectID = 2; int64 random = 3; }
message CloseRequest { int64 connectID = 1; string error = 1000; }
message CloseResponse { string error = 1; int64 connectID = 2; }
message CloseDial { int64 random = 1; }
message Drain {}
message Data { int64 connectID = 1; string error = 2; bytes data = 3; }
message Credit { int64 connectID = 1; int64 bytes = 2; }
message EndOfStream { int64 connectID = 1; }
`;

export const ReferencePacket = protobuf.parse(SCHEMA, { keepCase: true }).root.lookupType("Packet");

import { describe, expect, test } from "vitest";
import { hostOfAddress, joinHostPort, splitHostPort } from "./address.js";

describe("hostOfAddress", () => {
  test.each([
    ["localhost:8080", "localhost"],
    ["localhost", "localhost"],
    ["[fd00::1]:443", "fd00::1"],
    ["::", "::"],
    ["9878::7562", "9878::7562"],
    ["10.0.0.1:80", "10.0.0.1"],
  ])("cuts %s to %s as upstream does", (address, host) => {
    expect(hostOfAddress(address)).toBe(host);
  });
});

describe("splitHostPort", () => {
  test.each([
    ["10.0.0.1", "address 10.0.0.1: missing port in address"],
    ["[::1]", "address [::1]: missing port in address"],
    ["::1:80", "address ::1:80: too many colons in address"],
    ["[::1:80", "address [::1:80: missing ']' in address"],
    ["[::1]:80:90", "address [::1]:80:90: too many colons in address"],
    ["a[b]:80", "address a[b]:80: unexpected '[' in address"],
  ])("refuses %s in Go's words", (address, error) => {
    expect(splitHostPort(address)).toEqual({ error });
  });

  test("undoes joinHostPort", () => {
    for (const host of ["10.0.0.1", "fd00::1", "name.example"]) {
      expect(splitHostPort(joinHostPort(host, 443))).toEqual({ host, port: "443" });
    }
  });
});

/** Kubernetes' way to say how an object is. */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

export function isTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return conditions?.some((condition) => condition.type === type && condition.status === "True") ?? false;
}

/**
 * A request and what it was answered, as the OpenAPI documents show it. The exchanges are one story, in their order: they were
 * recorded from a Laurel, and the test sends them to another one (`test/operations/examples.test.ts`).
 */
export interface Exchange {
  /** The operation's ID. */
  operation: string;
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number | boolean>>;
  /** The header `Idempotency-Key`. */
  idempotencyKey?: string;
  body?: unknown;
  status: number;
  /** Lists and maps are shortened. Left out: there is no body, or a stream. */
  answer?: unknown;
}

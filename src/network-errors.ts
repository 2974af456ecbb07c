/** System error codes: the other end is unreachable, or the connection broke. */
const CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** An error's `code`, from the system or from Postgres (SQLSTATE); `null` if it has none. */
export function codeOf(error: Error): string | null {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : null;
}

/** Whether a system error says that the other end of a connection is unreachable or gone. */
export const isNetworkError = (error: Error): boolean => CODES.has(codeOf(error) ?? '');

/** Chains of causes are short; a longer one is a cycle. */
const MAX_DEPTH = 5;

export function* withCauses(error: unknown): Generator<Error> {
  for (let depth = 0; error instanceof Error && depth < MAX_DEPTH; depth += 1) {
    yield error;
    error = error.cause;
  }
}

/** `code` of system errors: the other end cannot be reached, or the connection to it broke. */
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

/** An error's `code`, of the system or of Postgres (SQLSTATE); null: it has none. */
export function codeOf(error: Error): string | null {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : null;
}

/** Whether an error of the system says that the other end of a connection cannot be reached, or is gone. */
export const isNetworkError = (error: Error): boolean => CODES.has(codeOf(error) ?? '');

/** Chains of causes are short; one that is not is a circle. */
const MAX_DEPTH = 5;

/** An error and its causes, the outermost first; nothing for what is no error. */
export function* withCauses(error: unknown): Generator<Error> {
  for (let depth = 0; error instanceof Error && depth < MAX_DEPTH; depth += 1) {
    yield error;
    error = error.cause;
  }
}

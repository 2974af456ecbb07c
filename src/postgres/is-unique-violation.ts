/** Whether a statement failed because a row would stand where a unique index has one already. */
export const isUniqueViolation = (error: unknown): boolean =>
  error instanceof Error && (error as { code?: unknown }).code === '23505';

/** What the HTTP layer needs of a logger; pino's has this shape. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

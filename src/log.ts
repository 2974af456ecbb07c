import { pino, type Logger } from 'pino';
import type { Env } from './env.ts';

/** What Laurel needs of a logger; pino's has this shape. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** The log of one process: JSON lines on standard output, each with the process's name. */
export function createLog({ level, name }: { level: Env['logLevel']; name: string }): Logger {
  return pino({
    level,
    base: { process: name, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    // A key or a URL with a password must not reach a log, whoever logs it.
    redact: ['apiKey', 'password', 'redisUrl', 'databaseUrl', 'headers["x-api-key"]'],
  });
}

import { pino, type Logger } from 'pino';
import type { Env } from './env.ts';

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

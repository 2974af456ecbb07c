import { AppError } from '../errors.ts';

/** Decodes a path parameter. Throws 400 for a malformed escape, invalid UTF-8 and a NUL. */
export function decodeParam(raw: string): string {
  // uWS decodes UTF-8 and replaces invalid bytes with U+FFFD.
  if (raw.includes('\uFFFD')) throw new AppError('malformed', 'The path is not valid UTF-8');
  if (!raw.includes('%')) return raw;
  let value: string;
  try {
    value = decodeURIComponent(raw);
  } catch {
    throw new AppError('malformed', 'The path has a malformed percent escape');
  }
  if (value.includes('\0')) throw new AppError('malformed', 'The path contains a NUL character');
  return value;
}

import { AppError } from '../errors.ts';

/** A path parameter as it was meant. Throws 400 for a malformed escape, broken UTF-8 and a NUL. */
export function decodeParam(raw: string): string {
  // uWS decodes UTF-8 and puts U+FFFD for what is none.
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

import { AppError } from '../errors.ts';

/** Converts times to epoch ms; `null` if absent. Throws 422 for a leap second. */
export function spanOf(span: { from?: string | undefined; to?: string | undefined }): {
  fromMs: number | null;
  toMs: number | null;
} {
  const [fromMs = null, toMs = null] = (['from', 'to'] as const).map((field) => {
    const time = span[field];
    const ms = time === undefined ? null : Date.parse(time);
    if (Number.isNaN(ms)) throw new AppError('unprocessable', `${field} must be a time (ISO 8601)`);
    return ms;
  });
  return { fromMs, toMs };
}

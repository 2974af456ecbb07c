import { AppError } from '../errors.ts';

/** Epoch ms; null where there is none. A leap second fits the format of times, and is none that a clock knows: 422. */
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

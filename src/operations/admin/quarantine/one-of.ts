import { AppError } from '../../../errors.ts';
import type { Left } from '../../../engine/quarantine/quarantine.ts';
import { verdict } from '../../bulk.ts';
import type { AdminIssue } from '../../../domain/admin.ts';

/** What became of the one event of a call. 404 where there is none, 422 where it stays. */
export function oneOf<T>({ done, refused }: Left<T>): T {
  const [only] = done;
  if (only !== undefined) return only;
  const [text = ''] = refused.values();
  throw new AppError(text.startsWith('There is no') ? 'not_found' : 'unprocessable', text);
}

/** Why some events stay. */
export const issuesOf = ({ refused }: Left<unknown>): AdminIssue[] =>
  [...refused].map(([id, text]) => ({ id, ...verdict('error', text) }));

/** IDs, each once. */
export const distinct = (ids: readonly string[]): string[] => [...new Set(ids.map((id) => id.toLowerCase()))];

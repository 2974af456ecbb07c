import type { OrganisationSettings } from '../domain/admin.ts';
import type { RequestHead } from './request-head.ts';

/** What a client cannot read of an answer. */
export interface Strictness {
  /** Fractions where the contract has integers. */
  wholeOnly: boolean;
  /** Values of enums that are newer than its version of the contract. */
  olderValues: boolean;
  /** Null where clients of 1.0 have no null. */
  refusesNull: boolean;
}

export type BoardValues = OrganisationSettings['boardValues'];

/** The version of the contract that all values of enums are in. */
const NEWEST = [1, 26] as const;

/** Reads any JSON number. */
const LENIENT_LANGUAGE = 'javascript';

/**
 * What the client of a request cannot read; `null` if it reads everything. Generated clients send their language, the
 * version of the contract that they were made from, or both. A client that sends a language without a version counts as an
 * older one; a client that sends a version without a language (Go does) counts as one that needs whole numbers. A client that
 * sends neither reads everything.
 * @param boardValues as the organisation has set it
 */
export function strictnessOf(
  { language, contractVersion }: Pick<RequestHead, 'language' | 'contractVersion'>,
  boardValues: BoardValues,
): Strictness | null {
  const isNamed = language !== null || contractVersion !== null;
  const needsWhole = isNamed && language?.toLowerCase() !== LENIENT_LANGUAGE;
  const wholeOnly = boardValues === 'whole' || (boardValues === 'byClient' && needsWhole);
  const olderValues = isNamed && !isNewest(contractVersion ?? '');
  const refusesNull = isNamed && isFirst(contractVersion);
  return wholeOnly || olderValues ? { wholeOnly, olderValues, refusesNull } : null;
}

/** Clients of 1.0 send their own version or none. */
const isFirst = (version: string | null): boolean => version === null || /^1\.0(\.|$)/.test(version);

function isNewest(version: string): boolean {
  const [, major, minor] = /^(\d{1,6})\.(\d{1,6})/.exec(version) ?? [];
  if (major === undefined) return false;
  return Number(major) > NEWEST[0] || (Number(major) === NEWEST[0] && Number(minor) >= NEWEST[1]);
}

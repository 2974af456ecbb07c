import type { OrganisationSettings } from '../domain/administration/admin.ts';
import type { RequestHead } from './request-head.ts';

/** Which values of an answer a client cannot read. */
export interface Strictness {
  /** Fractions where the contract has integers. */
  wholeOnly: boolean;
  /** Enum values newer than its version of the contract. */
  olderValues: boolean;
  /** `null` where the contract of 1.0 does not allow it. */
  refusesNull: boolean;
}

export type BoardValues = OrganisationSettings['boardValues'];

/** The oldest version of the contract that contains all enum values. */
const NEWEST = [1, 26] as const;

/** Its clients read any JSON number. */
const LENIENT_LANGUAGE = 'javascript';

/**
 * Which values a request's client cannot read; `null` if it can read everything. Generated clients send their language, their version of the
 * contract, or both. A language without a version means an old client; a version without a language (Go) means a client that needs whole numbers.
 * A client that sends neither can read everything.
 * @param boardValues the organisation's setting
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

/** Clients of 1.0 send that version or none. */
const isFirst = (version: string | null): boolean => version === null || /^1\.0(\.|$)/.test(version);

function isNewest(version: string): boolean {
  const [, major, minor] = /^(\d{1,6})\.(\d{1,6})/.exec(version) ?? [];
  if (major === undefined) return false;
  return Number(major) > NEWEST[0] || (Number(major) === NEWEST[0] && Number(minor) >= NEWEST[1]);
}

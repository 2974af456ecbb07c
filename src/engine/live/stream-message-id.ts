import { createHash, createHmac, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { KeyedIds } from '../ids.ts';
import type { LivePosition } from '../../redis/live-streams.ts';
import { comparePositions, OUTBOX_START } from '../../redis/outbox.ts';

export interface ReportedPlace {
  runDay: number;
  /** `null` if the user is not on the board. */
  rank: number | null;
  value: number | null;
}

/** A listener's position in one part of its tenant. */
export interface PartPosition extends LivePosition {
  /** Number of the last notification sent from the last entry; `null` if all were sent. */
  within: number | null;
  /** The outbox position up to which changes of boards were reported. */
  boards: string;
}

/** A listener's position. Its message IDs contain all of it, so that any frontend can resume the stream. */
export interface ListenerPosition {
  /** In the order of the tenant's parts. */
  parts: readonly PartPosition[];
  /** When everything before was read, in epoch ms of Redis's clock. */
  asOfMs: number;
  /** Places by board number. */
  places: ReadonlyMap<number, ReportedPlace>;
}

export interface ParsedId {
  session: string;
  /** Identifies the data, see `digestOf`. */
  digest: string;
  position: ListenerPosition;
  /** The message's index among those with the same position. */
  nth: number;
}

/** Identifies a tenant's data in IDs; a rebuild of Redis changes it. `marks`: those of the shards of its parts. */
export const digestOf = (marks: readonly string[], tenantNo: number): string =>
  createHash('sha256')
    .update(`${marks.join(' ')}:${tenantNo}`)
    .digest('base64url')
    .slice(0, 8);

const SEPARATOR = '~';

/** The last ID that a client sent when it came back. */
export interface LastId {
  session: string;
  /** The ID, if this installation signed it; `null` if only the session's secret can be trusted. */
  authentic: ParsedId | null;
}

/** 96 bits of an HMAC-SHA-256. */
const SIGNATURE_CHARACTERS = 16;
const SIGNED = /^([\w-]{22})~[\w~:;.+-]{0,16384}$/;

/** Makes and checks signed message IDs, which contain positions in Redis and reported ranks. */
export class MessageIds {
  private readonly key: KeyObject;

  constructor(key: KeyObject) {
    this.key = key;
  }

  static of(ids: KeyedIds): MessageIds {
    return new MessageIds(ids.keyFor('IDs of live messages'));
  }

  /** The ID of a message: text without spaces, shorter than 120 characters plus 30 for each board and 60 for each further part. */
  format(id: ParsedId): string {
    const text = formatted(id);
    return `${text}${SEPARATOR}${this.signature(text)}`;
  }

  /** Parses an ID; `null` if the text is not an ID. */
  parse(id: string): LastId | null {
    const session = SIGNED.exec(id)?.[1];
    if (session === undefined) return null;
    const at = id.length - SIGNATURE_CHARACTERS - SEPARATOR.length;
    const text = id.slice(0, at);
    const signed = Buffer.from(`${text}${SEPARATOR}${this.signature(text)}`);
    const bytes = Buffer.from(id);
    const isOurs = signed.length === bytes.length && timingSafeEqual(signed, bytes);
    return { session, authentic: isOurs ? parsed(text) : null };
  }

  private signature(text: string): string {
    return createHmac('sha256', this.key).update(text).digest('base64url').slice(0, SIGNATURE_CHARACTERS);
  }
}

function formatted({ session, digest, position, nth }: ParsedId): string {
  const { parts, asOfMs, places } = position;
  const asOf = nth === 0 ? asOfMs.toString(36) : `${asOfMs.toString(36)}.${nth}`;
  const head = [session, digest, parts.map(formattedPart).join(';'), asOf].join(SEPARATOR);
  if (places.size === 0) return head;
  const named = [...places].map(([no, { runDay, rank, value }]) => [no, runDay, rank ?? '', value ?? ''].join(':'));
  return `${head}${SEPARATOR}${named.join(';')}`;
}

const formattedPart = ({ outbox, within, announced, boards }: PartPosition): string =>
  [
    shortened(outbox),
    within ?? '',
    announced === OUTBOX_START ? '' : shortened(announced),
    boards === outbox ? '' : shortened(boards),
  ]
    .join(':')
    .replace(/:+$/, '');

const ID = /^([\w-]{22})~([\w-]{8})~([\da-z:;-]{1,12288})~([\da-z]{1,9})(?:\.(\d{1,9}))?(?:~([-\d.:;e+]{1,4096}))?$/;
const PART = /^([\da-z]{1,9}-\d{1,20})(?::(\d{0,12}))?(?::([\da-z]{1,9}-\d{1,20})?)?(?::([\da-z]{1,9}-\d{1,20})?)?$/;

function parsed(text: string): ParsedId | null {
  const match = ID.exec(text);
  if (match === null) return null;
  const [, session, digest, texts, asOf, nth, places] = match;
  const parts = texts!.split(';').map(partOf);
  if (!parts.every((part) => part !== null)) return null;
  return {
    session: session!,
    digest: digest!,
    position: { parts, asOfMs: parseInt(asOf!, 36), places: new Map((places ?? '').split(';').flatMap(placeOf)) },
    nth: Number(nth ?? 0),
  };
}

function partOf(text: string): PartPosition | null {
  const match = PART.exec(text);
  if (match === null) return null;
  const [, outbox, within = '', announced, boards] = match;
  const at = lengthened(outbox!);
  const boardsAt = boards === undefined ? at : lengthened(boards);
  return {
    outbox: at,
    announced: announced === undefined ? OUTBOX_START : lengthened(announced),
    within: within === '' ? null : Number(within),
    boards: comparePositions(boardsAt, at) > 0 ? at : boardsAt,
  };
}

function placeOf(text: string): [number, ReportedPlace][] {
  const [no, runDay, rank = '', value = ''] = text.split(':');
  if (no === undefined || runDay === undefined) return [];
  const numbers = [no, runDay, rank, value].map(Number);
  if (numbers.some((number) => !Number.isFinite(number))) return [];
  return [
    [
      Number(no),
      { runDay: Number(runDay), rank: rank === '' ? null : Number(rank), value: value === '' ? null : Number(value) },
    ],
  ];
}

const shortened = (position: string): string => {
  const [ms = '', sequence = ''] = position.split('-');
  return `${Number(ms).toString(36)}-${sequence}`;
};

const lengthened = (short: string): string => {
  const [ms = '', sequence = ''] = short.split('-');
  return `${parseInt(ms, 36)}-${sequence}`;
};

const LAST_SEQUENCE = '18446744073709551615';

export function positionBefore(position: string): string {
  const [ms = '', sequence = ''] = position.split('-');
  if (sequence !== '0') return `${ms}-${BigInt(sequence) - 1n}`;
  return ms === '0' ? OUTBOX_START : `${Number(ms) - 1}-${LAST_SEQUENCE}`;
}

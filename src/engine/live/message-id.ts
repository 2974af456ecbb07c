import { createHash, createHmac, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { KeyedIds } from '../ids.ts';
import type { LivePosition } from '../../redis/live-streams.ts';
import { comparePositions, OUTBOX_START } from '../../redis/outbox.ts';

/** A place on a board as it was last reported to a listener. */
export interface ReportedPlace {
  runDay: number;
  /** Null: not on the board. */
  rank: number | null;
  value: number | null;
}

/** How far a listener has come. All of it stands in the IDs of its messages, so that any frontend can go on from there. */
export interface ListenerPosition extends LivePosition {
  /** The last notification of the last entry that was sent, by its number in the entry; null: all of them. */
  within: number | null;
  /** The position in the outbox up to which changes of boards have been reported. */
  boards: string;
  /** When all before was read, by Redis's clock, epoch ms. */
  asOfMs: number;
  /** Places by the numbers of boards. */
  places: ReadonlyMap<number, ReportedPlace>;
}

/** The ID of a message, taken apart. */
export interface ParsedId {
  /** Secret of the stream's session. */
  session: string;
  /** Of whose data, see `digestOf`. */
  digest: string;
  position: ListenerPosition;
  /** Which message of that position it is, from 0: what is reported together differs in nothing else. */
  nth: number;
}

/** Stands in IDs for the tenant's data: another one after Redis was rebuilt. `mark`: of the shard. */
export const digestOf = (mark: string, tenantNo: number): string =>
  createHash('sha256').update(`${mark}:${tenantNo}`).digest('base64url').slice(0, 8);

const SEPARATOR = '~';

/** What a client that comes back sent as its last ID. */
export interface LastId {
  /** Secret of the stream's session. */
  session: string;
  /** The ID, if this installation made it; null: only its secret can be believed. */
  authentic: ParsedId | null;
}

/** 96 bits of an HMAC-SHA-256. */
const SIGNATURE_CHARACTERS = 16;
const SIGNED = /^([\w-]{22})~[\w~:;.+-]{0,8192}$/;

/**
 * Makes and checks the IDs of messages. An ID says where a reader of Redis goes on and which ranks were reported, so it is
 * signed: a client can send back only what it was sent.
 */
export class MessageIds {
  private readonly key: KeyObject;

  constructor(key: KeyObject) {
    this.key = key;
  }

  /** Those of the installation whose events have such IDs. */
  static of(ids: KeyedIds): MessageIds {
    return new MessageIds(ids.keyFor('IDs of live messages'));
  }

  /** The ID of a message: text without spaces, less than 120 characters and 30 for each board. */
  format(id: ParsedId): string {
    const text = formatted(id);
    return `${text}${SEPARATOR}${this.signature(text)}`;
  }

  /** Takes an ID apart; null: the text is not an ID at all. */
  parse(id: string): LastId | null {
    const session = SIGNED.exec(id)?.[1];
    if (session === undefined) return null;
    const at = id.length - SIGNATURE_CHARACTERS - SEPARATOR.length;
    const text = id.slice(0, at);
    const signed = Buffer.from(`${text}${SEPARATOR}${this.signature(text)}`);
    const given = Buffer.from(id);
    const isOurs = signed.length === given.length && timingSafeEqual(signed, given);
    return { session, authentic: isOurs ? parsed(text) : null };
  }

  private signature(text: string): string {
    return createHmac('sha256', this.key).update(text).digest('base64url').slice(0, SIGNATURE_CHARACTERS);
  }
}

function formatted({ session, digest, position, nth }: ParsedId): string {
  const { outbox, announced, within, boards, asOfMs, places } = position;
  const head = [
    session,
    digest,
    shortened(outbox),
    within ?? '',
    announced === OUTBOX_START ? '' : shortened(announced),
    boards === outbox ? '' : shortened(boards),
    nth === 0 ? asOfMs.toString(36) : `${asOfMs.toString(36)}.${nth}`,
  ].join(SEPARATOR);
  if (places.size === 0) return head;
  const named = [...places].map(([no, { runDay, rank, value }]) => [no, runDay, rank ?? '', value ?? ''].join(':'));
  return `${head}${SEPARATOR}${named.join(';')}`;
}

const ID =
  /^([\w-]{22})~([\w-]{8})~([\da-z]{1,9}-\d{1,20})~(\d{0,12})~([\da-z]{1,9}-\d{1,20})?~([\da-z]{1,9}-\d{1,20})?~([\da-z]{1,9})(?:\.(\d{1,9}))?(?:~([-\d.:;e+]{1,4096}))?$/;

function parsed(text: string): ParsedId | null {
  const match = ID.exec(text);
  if (match === null) return null;
  const [, session, digest, outbox, within, announced, boards, asOf, nth, places] = match;
  const at = lengthened(outbox!);
  const boardsAt = boards === undefined ? at : lengthened(boards);
  return {
    session: session!,
    digest: digest!,
    position: {
      outbox: at,
      announced: announced === undefined ? OUTBOX_START : lengthened(announced),
      within: within === '' ? null : Number(within),
      boards: comparePositions(boardsAt, at) > 0 ? at : boardsAt,
      asOfMs: parseInt(asOf!, 36),
      places: new Map((places ?? '').split(';').flatMap(placeOf)),
    },
    nth: Number(nth ?? 0),
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

/** The position just before one. */
export function positionBefore(position: string): string {
  const [ms = '', sequence = ''] = position.split('-');
  if (sequence !== '0') return `${ms}-${BigInt(sequence) - 1n}`;
  return ms === '0' ? OUTBOX_START : `${Number(ms) - 1}-${LAST_SEQUENCE}`;
}

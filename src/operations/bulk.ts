import { Type, type Static, type TObject, type TUnsafe } from 'typebox';
import type { AdminIssue, DeletedResources } from '../domain/administration/admin.ts';
import { makeAjv, unknownFieldsText, validationMessage } from './validation.ts';
import { shortened } from '../errors.ts';

const ajv = makeAjv();

const MOST_ITEMS = 100;

/**
 * Most bytes of a bulk body: 10 KiB an item. The largest whose fields are all bounded, a webhook with every event and
 * each character in four bytes, has 10 KB; its filter, and lists without a bound of their own (conditions, parts), share the rest.
 */
export const BULK_BODY_BYTES = 1_048_576;
/** Most characters of an issue's message. */
const MESSAGE_LENGTH = 1_000;
/** A longer ID names nothing: the item is named by its index. */
const ID_LENGTH = 255;

/** What became of the items of a bulk call. */
export interface BulkOutcome<Done> {
  done: Done[];
  issues: AdminIssue[];
}

/** The items of a bulk call: each is checked by itself, so that a bad one does not hold up the others. */
export interface BulkItems<Item extends TObject> {
  /** Of the request: documented with its items, checked (422) for being an array of 1 to 100 only. */
  body: TUnsafe<unknown[]>;
  /**
   * Hands the items that fit to `work`, which answers for each with what became of it, or with a text that says
   * why nothing did. Issues come in the order of the items.
   */
  each<Done extends object>(
    items: unknown[],
    work: (good: Static<Item>[]) => Promise<(Done | string | Warning)[]>,
  ): Promise<BulkOutcome<Done>>;
}

/** Says of an item that nothing was to be done for it, which is no mistake. */
export class Warning {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Declares the items of a bulk operation. The schema is compiled here, once. An item with an unknown field is an issue.
 * @param alsoKnown fields that an item may have though they say nothing here: those of the answer, which clients send back
 */
export function bulkItems<Item extends TObject>(item: Item, alsoKnown?: TObject): BulkItems<Item> {
  const validate = ajv.compile<Static<Item>>(item);
  const known = Type.Object({ ...item.properties, ...alsoKnown?.properties });
  const messageOf = (value: unknown): string | null => {
    // First: a misspelt field is often the reason why another one is missing.
    const unknown = unknownFieldsText(known, value);
    if (unknown !== null) return unknown;
    if (validate(value)) return null;
    const { field, text } = validationMessage(validate.errors ?? []);
    return `${field || 'The item'} ${text}`;
  };
  // Of an item that is yet to get an ID, `id` is a field that means nothing.
  const hasId = Object.hasOwn(item.properties, 'id');
  const named = (value: unknown): unknown => (hasId ? value : { ...(value as object), id: null });
  return {
    body: uncheckedItems(item, MOST_ITEMS),
    each: async (items, work) => {
      const texts = items.map(messageOf);
      const good = items.filter((_, index) => texts[index] === null) as Static<Item>[];
      const outcomes = good.length === 0 ? [] : await work(good);
      const done = outcomes.filter(
        (outcome): outcome is Exclude<typeof outcome, string | Warning> =>
          typeof outcome !== 'string' && !(outcome instanceof Warning),
      );
      let next = 0;
      const issues = items.flatMap((value, index) => {
        const text = texts[index] ?? outcomes[next++];
        if (text instanceof Warning) return [issue(named(value), index, text.text, 'warning')];
        return typeof text === 'string' ? [issue(named(value), index, text)] : [];
      });
      return { done, issues };
    },
  };
}

/** What became of IDs to delete; an ID that is in neither names nothing. */
export interface Deletion {
  deleted: string[];
  /** Why those that stay do. */
  refused: ReadonlyMap<string, string>;
}

/**
 * Deletes by ID, each ID once; those that there are not, or that stay, are issues. `noun`: what they are IDs of;
 * `exact`: they are texts, not UUIDs, whose case says nothing.
 */
export async function deleteEach(
  ids: string[],
  { noun, work, exact }: { noun: string; work: (ids: string[]) => Promise<string[] | Deletion>; exact?: boolean },
): Promise<DeletedResources> {
  const asked = [...new Set(exact ? ids : ids.map((id) => id.toLowerCase()))];
  const outcome = await work(asked);
  const { deleted, refused } = Array.isArray(outcome)
    ? { deleted: outcome, refused: new Map<string, string>() }
    : outcome;
  const gone = new Set(deleted);
  return {
    deleted: asked.filter((id) => gone.has(id)).map((id) => ({ id })),
    issues: asked
      .filter((id) => !gone.has(id))
      .map((id) => ({ id, ...verdict('error', refused.get(id) ?? `There is no ${noun} with this ID`) })),
  };
}

/**
 * An array whose items are shown where the schema is written out (the OpenAPI document), but left unchecked
 * where it is compiled.
 */
export function uncheckedItems(item: TObject, maxItems: number): TUnsafe<unknown[]> {
  const shape = { type: 'array', minItems: 1, maxItems };
  const toJSON = (): object => ({ ...shape, items: item });
  return Type.Unsafe<unknown[]>(Object.defineProperty({ ...shape }, 'toJSON', { value: toJSON, enumerable: false }));
}

function issue(item: unknown, index: number, message: string, severity: AdminIssue['severity'] = 'error'): AdminIssue {
  const { id, userId } = (item ?? {}) as { id?: unknown; userId?: unknown };
  const text = (value: unknown): value is string => typeof value === 'string' && value.length <= ID_LENGTH;
  return {
    ...(text(id) ? { id } : { index }),
    ...(text(userId) && { userId }),
    ...verdict(severity, shortened(message, MESSAGE_LENGTH)),
  };
}

export const verdict = (
  severity: AdminIssue['severity'],
  message: string,
): Pick<AdminIssue, 'severity' | 'message' | 'level' | 'reason'> => ({
  severity,
  message,
  level: severity,
  reason: message,
});

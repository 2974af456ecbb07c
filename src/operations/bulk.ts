import { Type, type Static, type TObject, type TUnsafe } from 'typebox';
import type { AdminIssue, DeletedResources } from '../domain/administration/admin.ts';
import { mappedInSlices } from '../pacing/slices.ts';
import { itemFaultsFinder, unknownFieldsText } from './validation.ts';
import { AppError, shortened } from '../errors.ts';

const MOST_ITEMS = 100;

/**
 * Maximum size of a bulk body: 10 KiB for each item. The largest item with only bounded fields, a webhook with every
 * event and four-byte characters, takes 10 KB; its filter and lists without a bound of their own (conditions, parts)
 * share the rest.
 */
export const BULK_BODY_BYTES = 1_048_576;
const MESSAGE_LENGTH = 1_000;
/** A longer ID does not exist; the issue names the item by its index. */
const ID_LENGTH = 255;

export interface BulkOutcome<Done> {
  done: Done[];
  issues: AdminIssue[];
}

/** The items of a bulk call. Each is checked individually, so that a bad one does not hold up the others. */
export interface BulkItems<Item extends TObject> {
  /** The request body: documented with its items, but only checked (422) for being an array of 1 to 100. */
  body: TUnsafe<unknown[]>;
  /**
   * Passes the valid items to `work`, which returns each result, or why it failed. Issues keep the items' order. `isStrict`: throws
   * 422 if an item is invalid, before `work`, which calls `refuseAny` itself before it stores anything.
   */
  each<Done extends object>(
    items: unknown[],
    work: (good: Static<Item>[]) => Promise<(Done | string | Warning)[]>,
    isStrict?: boolean,
  ): Promise<BulkOutcome<Done>>;
}

/** Query of bulk creations: all or nothing. */
export const Strict = Type.Object({ strict: Type.Boolean({ default: false }) });

/** How many refused items the error of a strict call names. */
const NAMED = 3;

/**
 * Throws 422 if an item was refused: the outcomes of a strict call, in the order of its items. The error of the only item begins with
 * its field, like an issue.
 */
export function refuseAny(outcomes: readonly unknown[]): void {
  const [first] = outcomes;
  if (outcomes.length === 1 && typeof first === 'string') throw new AppError('unprocessable', first);
  const refused = outcomes.flatMap((text, index) => (typeof text === 'string' ? [`item ${index}: ${text}`] : []));
  if (refused.length === 0) return;
  const more = refused.length > NAMED ? `; and ${refused.length - NAMED} more` : '';
  throw new AppError(
    'unprocessable',
    `Nothing was created, because ${refused.length} of ${outcomes.length} items ${refused.length === 1 ? 'is' : 'are'} refused: ${refused.slice(0, NAMED).join('; ')}${more}`,
  );
}

/** There was nothing to do for an item, which is not an error. */
export class Warning {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Declares a bulk operation's items. `alsoKnown`: fields without effect, which clients send back. */
export function bulkItems<Item extends TObject>(item: Item, alsoKnown?: TObject): BulkItems<Item> {
  const faultsOf = itemFaultsFinder(item);
  const known = Type.Object({ ...item.properties, ...alsoKnown?.properties });
  const messageOf = (value: unknown): string | null => {
    const unknown = unknownFieldsText(known, value);
    // Of each field the first one, which usually explains the others.
    const faults = new Map<string, string>();
    for (const { field, keyword, text } of faultsOf(value))
      // A misspelt field often explains a missing one.
      if ((unknown === null || keyword !== 'required') && !faults.has(field))
        faults.set(field, `${field || 'The item'} ${text}`);
    const texts = unknown === null ? [...faults.values()] : [unknown, ...faults.values()];
    return texts.length === 0 ? null : texts.join('; ');
  };
  // If items have no ID yet, a sent `id` means nothing.
  const hasId = Object.hasOwn(item.properties, 'id');
  const named = (value: unknown): unknown => (hasId ? value : { ...(value as object), id: null });
  return {
    body: uncheckedItems(item, MOST_ITEMS),
    each: async (items, work, isStrict = false) => {
      const texts = await mappedInSlices(items, messageOf);
      if (isStrict) refuseAny(texts);
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

export interface Deletion {
  deleted: string[];
  /** Reasons why the others stay. */
  refused: ReadonlyMap<string, string>;
}

/** Deletes by ID, each once. Unknown IDs and resources that stay are issues. `exact`: case-sensitive text. */
export async function deleteEach(
  ids: string[],
  { noun, work, exact }: { noun: string; work: (ids: string[]) => Promise<string[] | Deletion>; exact?: boolean },
): Promise<DeletedResources> {
  const distinctIds = [...new Set(exact ? ids : ids.map((id) => id.toLowerCase()))];
  const outcome = await work(distinctIds);
  const { deleted, refused } = Array.isArray(outcome)
    ? { deleted: outcome, refused: new Map<string, string>() }
    : outcome;
  const gone = new Set(deleted);
  return {
    deleted: distinctIds.filter((id) => gone.has(id)).map((id) => ({ id })),
    issues: distinctIds
      .filter((id) => !gone.has(id))
      .map((id) => ({ id, ...verdict('error', refused.get(id) ?? `There is no ${noun} with this ID`) })),
  };
}

/** An array whose items appear in the written schema (the OpenAPI document) but are not checked by the compiled one. */
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

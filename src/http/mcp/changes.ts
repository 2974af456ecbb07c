import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { Resources } from '../../catalog/resources.ts';
import { AppError } from '../../errors.ts';
import type { Caller, Operation } from '../../operations/operation.ts';
import type { Services } from '../../engine/services.ts';
import type { Named } from './direct-call.ts';
import type { Tool } from './tools.ts';

/** Resources whose edits change a draft and store nothing. */
export function previewing(services: Services): Services {
  const { resources } = services;
  const edit: Resources['edit'] = (tenantNo, _by, work) =>
    resources.preview(tenantNo, (draft) => work(draft, null as never));
  return {
    ...services,
    resources: new Proxy(resources, { get: (own, name) => (name === 'edit' ? edit : bound(own, name)) }),
  };
}

/** Services that read each tenant's resources once, for reads of many of them. */
export function readingOnce(services: Services): Services {
  const { resources } = services;
  const reads = new Map<number, ReturnType<Resources['read']>>();
  const read: Resources['read'] = (tenantNo) => {
    const reading = reads.get(tenantNo) ?? resources.read(tenantNo);
    reads.set(tenantNo, reading);
    return reading;
  };
  return {
    ...services,
    resources: new Proxy(resources, { get: (own, name) => (name === 'read' ? read : bound(own, name)) }),
  };
}

function bound(own: Resources, name: string | symbol): unknown {
  const value = own[name as keyof Resources] as unknown;
  return typeof value === 'function' ? (value.bind(own) as unknown) : value;
}

/** An operation on resources of the catalog: their edits can be tried on a draft. */
const CATALOG_EDIT =
  /^admin_(attributes|metrics|achievements|points_systems|points_levels|points_boosts|points_triggers|leaderboards|rewards|webhooks)_(create|update|delete)$/;

/** How it is found out what a call would change. */
export type DryRun =
  /** The operation itself, on a draft. */
  | { with: 'draft' }
  /** The same or another operation, which changes nothing with these arguments. */
  | { with: 'operation'; id: string; named: Named }
  /** No preview exists: shows the request and its object. */
  | { with: 'none' };

const hasField = (schema: Operation['body'] | Operation['query'], name: string): boolean =>
  Object.hasOwn((schema as { properties?: object } | null)?.properties ?? {}, name);

export function dryRunOf({ id, body }: Operation, named: Named): DryRun {
  if (CATALOG_EDIT.test(id)) return { with: 'draft' };
  if (id === 'admin_configuration_put') return { with: 'operation', id: 'admin_configuration_diff', named };
  // The dry run of a recomputation is a plan, which is stored: that is the change.
  if (id !== 'admin_recomputations_create' && hasField(body, 'dryRun'))
    return { with: 'operation', id, named: { ...named, body: { ...(named.body as object), dryRun: true } } };
  return { with: 'none' };
}

/** How long a code confirms a change. */
const CONFIRM_MINUTES = 10;
/** 128 bits of the HMAC. */
const MAC_BYTES = 16;

/** What a code confirms: this change in this tenant (`null`: the organisation), by this key. */
export interface Confirmable {
  tool: Tool;
  args: Readonly<Record<string, unknown>>;
  tenantNo: number | null;
  caller: Caller;
}

/**
 * A code that confirms a change for 10 minutes: the time, and an HMAC of the change and the time. Only a preview returns
 * it, and nobody can compute it without the installation's secret.
 */
export const confirmationCode = (secret: KeyObject, change: Confirmable, nowMs: number): string =>
  `${nowMs.toString(36)}-${macOf(secret, change, nowMs).toString('base64url')}`;

/** Throws an `AppError` unless the code in `confirm` was issued for this change in the last 10 minutes. */
export function requireConfirmation(secret: KeyObject, change: Confirmable, nowMs: number): void {
  const { confirm } = change.args;
  if (typeof confirm !== 'string') throw new AppError('invalid', 'confirm must be a string');
  const dash = confirm.indexOf('-');
  const issuedMs = parseInt(confirm.slice(0, dash), 36);
  const sent = Buffer.from(confirm.slice(dash + 1), 'base64url');
  const right = macOf(secret, change, issuedMs);
  if (sent.length !== right.length || !timingSafeEqual(sent, right))
    throw new AppError('conflict', 'confirm is not the code for these arguments and this key: call without it first');
  if (nowMs - issuedMs > CONFIRM_MINUTES * 60_000)
    throw new AppError(
      'conflict',
      `The code in confirm is older than ${CONFIRM_MINUTES} minutes: call without it again for a new one`,
    );
}

function macOf(secret: KeyObject, { tool, args, tenantNo, caller }: Confirmable, issuedMs: number): Buffer {
  const { confirm: _, ...others } = args;
  const text = JSON.stringify([tool.name, tenantNo, caller.prefix, issuedMs, others], (_name, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return createHmac('sha256', secret).update(text).digest().subarray(0, MAC_BYTES);
}

/** A call that takes back another. */
export interface Undo {
  tool: string;
  arguments: Record<string, unknown>;
}

interface Item {
  id: string;
}

/** The operation that reads what an update is about, to have its previous values; null: none is needed. */
export const readBefore = (operation: Operation): string | null => {
  if (operation.id === 'admin_configuration_put') return 'admin_configuration_get';
  const [, kind, verb] = CATALOG_EDIT.exec(operation.id) ?? [];
  return verb === 'update' ? `admin_${kind}_get` : null;
};

/**
 * What takes back a change that was made; null if nothing does, such as after a deletion.
 * @param before what `readBefore` answered: the document, or a list of the resources
 */
export function undoOf(
  operation: Operation,
  named: Named,
  { answer, before }: { answer: unknown; before: unknown },
): Undo | null {
  const [, kind, verb] = CATALOG_EDIT.exec(operation.id) ?? [];
  const parts = named.params;
  if (verb === 'create') {
    const { created } = answer as { created: Item[] };
    if (created.length === 0) return null;
    return { tool: `admin_${kind}_delete`, arguments: { ...parts, ids: created.map(({ id }) => id) } };
  }
  if (verb === 'update') {
    const were = new Map((before as (Item & Record<string, unknown>)[]).map((one) => [one.id, one]));
    const body = (named.body as (Item & Record<string, unknown>)[]).flatMap((sent) => {
      const was = were.get(sent.id);
      return was === undefined ? [] : [Object.fromEntries(Object.keys(sent).map((name) => [name, was[name] ?? null]))];
    });
    return body.length === 0 ? null : { tool: operation.id, arguments: { ...parts, body } };
  }
  switch (operation.id) {
    case 'admin_configuration_put':
      return { tool: operation.id, arguments: { body: before } };
    case 'admin_events_reverse_one': {
      const { reversalId } = answer as { reversalId: string | null };
      return reversalId === null ? null : { tool: operation.id, arguments: { id: reversalId } };
    }
    case 'admin_recomputations_apply':
      return { tool: 'admin_recomputations_revert', arguments: { id: named.params['id'] } };
    case 'metrics_event': {
      const { eventId } = answer as { eventId: string };
      return { tool: 'admin_events_reverse_one', arguments: { id: eventId } };
    }
    default:
      return null;
  }
}

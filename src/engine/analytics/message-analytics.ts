import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { COUNTED, SEGMENT } from '../../domain/analytics.ts';
import type { AnalyticsMessageEffect, AnalyticsMessages, MessageFigures } from '../../domain/analytics-responses.ts';
import { EFFECT_DAYS, effectOf } from '../../domain/message-effect.ts';
import {
  COUNTED_KINDS,
  COUNTED_MEDIA,
  MESSAGE_COUNTS,
  messageCountOf,
} from '../../domain/notifications/message-counts.ts';
import type { MessageKind } from '../../domain/notifications/message-variables.ts';
import { dateOf } from '../../domain/periods.ts';
import { readSums, readSumsTogether } from '../../postgres/analytics.ts';
import { type EffectGroup, effectGroups } from '../../postgres/notifications/message-effects.ts';
import { detailsFromDay } from '../../postgres/partitions.ts';
import { comparedDays, type AnalyticsOptions, type AnalyticsQuery } from './analytics-range.ts';

/** Users of a kind and group who are looked at. Tenants with fewer get exact figures. */
const MOST_USERS = 8_000;

const NO_FIGURES = Object.fromEntries(MESSAGE_COUNTS.map((count) => [count, 0])) as unknown as MessageFigures;

/** Figures about the messages that Laurel sends itself. */
export function createMessageAnalytics({ pool, clock, caughtUp, costly }: AnalyticsOptions) {
  /** The messages of each kind and medium by the day on which they fell due. */
  async function messages(
    { catalog: { tenantNo } }: CompiledCatalog,
    query: Pick<AnalyticsQuery, 'from' | 'to'>,
  ): Promise<AnalyticsMessages> {
    const { fromDay, toDay, fromBefore, dates } = comparedDays(query, clock.now());
    const range = { fromDay: fromBefore, toDay };
    const sums = await readSums(pool, { tenantNo, segment: SEGMENT.everyone, kinds: [COUNTED.messages], ...range });
    const known = sums.flatMap((sum) => {
      const of = messageCountOf(sum);
      return of === null ? [] : [{ ...of, day: sum.day, events: sum.events }];
    });
    const together = (some: typeof known): MessageFigures => {
      const figures = { ...NO_FIGURES };
      for (const { count, events } of some) figures[count] += events;
      return figures;
    };
    const groups = COUNTED_KINDS.flatMap((kind) => COUNTED_MEDIA.map((medium) => ({ kind, medium })));
    return {
      ...dates,
      messages: groups.flatMap(({ kind, medium }) => {
        const own = known.filter((each) => each.kind === kind && each.medium === medium);
        const inside = own.filter(({ day }) => day >= fromDay);
        if (own.length === 0) return [];
        const days = [...new Set(inside.map(({ day }) => day))].toSorted((a, b) => a - b);
        return {
          kind,
          medium,
          ...together(inside),
          before: together(own.filter(({ day }) => day < fromDay)),
          days: days.map((day) => ({ date: dateOf(day), ...together(inside.filter((each) => each.day === day)) })),
        };
      }),
    };
  }

  /**
   * Of the users for whom a message of a kind was due in a range, how many had an event in the days after their first one, against
   * the users of the control group, from whom it was withheld.
   */
  async function messageEffect(
    { catalog: { tenantNo } }: CompiledCatalog,
    query: Pick<AnalyticsQuery, 'from' | 'to'>,
  ): Promise<AnalyticsMessageEffect> {
    const nowMs = clock.now();
    const { fromDay, toDay, dates } = comparedDays(query, nowMs);
    await caughtUp.tenant(tenantNo);
    // Events of earlier days are no longer kept one by one, so it is unknown who returned.
    const firstDay = Math.max(fromDay, (await detailsFromDay(pool)) ?? fromDay);
    const counts = await countsOf({ tenantNo, fromDay: firstDay, toDay });
    const groups = await costly.run(tenantNo, `effect of messages ${firstDay} ${toDay}`, () =>
      effectGroups(pool, { tenantNo, fromDay: firstDay, toDay, nowMs, most: MOST_USERS, counts }),
    );
    const kinds = COUNTED_KINDS.flatMap((kind) => {
      const of = (isControl: boolean): EffectGroup | undefined =>
        groups.find((group) => group.kind === kind && group.isControl === isControl);
      const [due, control] = [of(false), of(true)];
      return due === undefined && control === undefined ? [] : [{ kind, ...compared(due, control) }];
    });
    return { from: dates.from, to: dates.to, kinds };
  }

  /** Messages that fell due or were withheld, by kind. */
  async function countsOf(range: {
    tenantNo: number;
    fromDay: number;
    toDay: number;
  }): Promise<{ kind: MessageKind; isControl: boolean; count: number }[]> {
    const sums = await readSumsTogether(pool, { ...range, segment: SEGMENT.everyone, kinds: [COUNTED.messages] });
    return COUNTED_KINDS.flatMap((kind) =>
      (['due', 'withheld'] as const).flatMap((counted) => {
        const own = sums.filter((sum) => {
          const of = messageCountOf(sum);
          return of?.kind === kind && of.count === counted;
        });
        const count = own.reduce((total, { events }) => total + events, 0);
        return count === 0 ? [] : [{ kind, isControl: counted === 'withheld', count }];
      }),
    );
  }

  return { messages, messageEffect };
}

function compared(
  due: EffectGroup | undefined,
  control: EffectGroup | undefined,
): Omit<AnalyticsMessageEffect['kinds'][number], 'kind'> {
  return {
    users: due?.users ?? 0,
    reached: due?.reached ?? 0,
    controlUsers: control?.users ?? 0,
    isSampled: [due, control].some((group) => group?.isSampled === true),
    returned: EFFECT_DAYS.map((afterDays, index) => {
      const figures = (group: EffectGroup | undefined): { users: number; returned: number } => ({
        users: group?.over[index] ?? 0,
        returned: group?.returned[index] ?? 0,
      });
      const [ofDue, ofControl] = [figures(due), figures(control)];
      return {
        afterDays,
        ...ofDue,
        controlUsers: ofControl.users,
        controlReturned: ofControl.returned,
        ...effectOf(ofDue, ofControl),
      };
    }),
  };
}

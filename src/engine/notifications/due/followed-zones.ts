import { dayStartMs, type LocalMoment, type LocalTime, momentAfter } from '../../../domain/zone.ts';
import type { NotificationType } from '../../../domain/notifications/notification.ts';
import {
  beginProgress,
  endProgress,
  notificationProgress,
  type NotificationProgress,
} from '../../../postgres/notifications/due.ts';
import { readOrganisation } from '../../../postgres/organisation.ts';
import { zonesOf } from '../../../postgres/streak-sweep.ts';
import type { EmailKind, MessageSendingSettings } from './email-kinds.ts';
import type { Publisher, Wanting } from './publisher.ts';

interface WantedKind {
  tenantNo: number;
  kind: EmailKind;
  settings: MessageSendingSettings;
  time: LocalTime;
  /** E-mails that fell due up to this time (epoch ms) are not wanted. */
  sinceMs: number;
  /** The users about whom it is wanted; `null` for all. */
  users: Wanting<NotificationType>['users'];
}

/** A tenant's zone in which e-mails of a kind fall due. */
export interface FollowedZone extends WantedKind {
  /** IANA name; `null` means UTC. */
  name: string | null;
  progress: NotificationProgress;
}

/** Maximum number of cached due times. Each is queried repeatedly until it comes. */
const MOST_KNOWN = 20_000;

const keyOf = ({ tenantNo, kind, zone }: Pick<NotificationProgress, 'tenantNo' | 'kind' | 'zone'>): string =>
  `${tenantNo}:${kind}:${zone}`;

/** The zones with progress of a wanted kind. */
const followedOf = (
  wanted: ReadonlyMap<string, WantedKind>,
  progress: readonly NotificationProgress[],
): FollowedZone[] =>
  progress.flatMap((row) => {
    const kind = wanted.get(`${row.tenantNo}:${row.kind}`);
    return kind === undefined ? [] : [{ ...kind, name: row.zone === '' ? null : row.zone, progress: row }];
  });

/** The zones of users with wanted e-mails, and the progress of each. */
export class FollowedZones {
  private readonly publisher: Publisher;
  private readonly kinds: readonly EmailKind[];
  private readonly types: readonly NotificationType[];
  private readonly known = new Map<string, LocalMoment>();

  constructor(publisher: Publisher, kinds: readonly EmailKind[]) {
    this.publisher = publisher;
    this.kinds = kinds;
    this.types = kinds.map(({ type }) => type);
  }

  /** Starts new zones and newly wanted kinds, and ends the others. Returns the same as `followed`. */
  async follow(nowMs: number): Promise<FollowedZone[]> {
    const { pool } = this.publisher;
    const kinds = await this.wanted();
    const progress = await notificationProgress(pool, this.types);
    const tenants = [...new Set([...kinds.values()].map(({ tenantNo }) => tenantNo))];
    const zones = tenants.length === 0 ? [] : await zonesOf(pool, tenants);
    const rows = new Map<string, Pick<NotificationProgress, 'tenantNo' | 'kind' | 'zone' | 'doneMs'>>();
    for (const { tenantNo, zone, sweptDay } of zones) {
      for (const type of this.types) {
        const sinceMs = kinds.get(`${tenantNo}:${type}`)?.sinceMs;
        if (sinceMs === undefined) continue;
        const dayMs = dayStartMs(zone === '' ? 'UTC' : zone, sweptDay);
        const row = { tenantNo, kind: type, zone, doneMs: Math.min(Math.max(sinceMs, dayMs), nowMs) };
        rows.set(keyOf(row), row);
      }
    }
    const known = new Set(progress.map(keyOf));
    const begun = [...rows].flatMap(([key, row]) => (known.has(key) ? [] : [row]));
    const ended = progress.filter((row) => !rows.has(keyOf(row)) && !this.publisher.isUnreadable(row.tenantNo));
    if (begun.length === 0 && ended.length === 0) return followedOf(kinds, progress);
    await beginProgress(pool, begun);
    await endProgress(pool, ended);
    return this.followed(kinds);
  }

  /** The zones with their current progress. */
  async followed(known?: ReadonlyMap<string, WantedKind>): Promise<FollowedZone[]> {
    const kinds = known ?? (await this.wanted());
    if (kinds.size === 0) return [];
    return followedOf(kinds, await notificationProgress(this.publisher.pool, this.types));
  }

  /** When e-mails next fall due in a zone. */
  momentAfter({ time, name, progress: { doneMs } }: FollowedZone): LocalMoment {
    const key = `${time.minute}:${time.weekday}:${time.dayOfMonth}:${doneMs}:${name}`;
    let moment = this.known.get(key);
    if (moment === undefined) {
      if (this.known.size >= MOST_KNOWN) this.known.clear();
      this.known.set(key, (moment = momentAfter(time, name, doneMs)));
    }
    return moment;
  }

  /** The wanted kinds that have a due time, by `<tenant no>:<type>`. */
  private async wanted(): Promise<Map<string, WantedKind>> {
    const { pool } = this.publisher;
    const wanting = await this.publisher.wanting(this.types);
    const kinds = new Map<string, WantedKind>();
    if (wanting.length === 0) return kinds;
    const { aggregationPeriod: aggregation, controlShare } = await readOrganisation(pool);
    for (const { tenantNo, type, version, sinceMs, users, isEmailed, isPushed } of wanting) {
      const kind = this.kinds.find((each) => each.type === type)!;
      const compiled = await this.publisher.catalogIfReadable(tenantNo, version);
      if (compiled === null) continue;
      const settings = { compiled, aggregation, controlShare, isEmailed, isPushed };
      const time = kind.time(settings);
      if (time !== null) kinds.set(`${tenantNo}:${type}`, { tenantNo, kind, settings, time, sinceMs, users });
    }
    return kinds;
  }
}

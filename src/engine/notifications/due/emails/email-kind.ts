import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../../../catalog/compiled-catalog.ts';
import type { LocalMoment, LocalTime } from '../../../../domain/local-times.ts';
import type { NotificationType } from '../../../../domain/notification.ts';
import type { Settings } from '../../../../domain/settings.ts';

/** What e-mails of a tenant go by. */
export interface EmailSettings {
  compiled: CompiledCatalog;
  aggregation: Settings['aggregationPeriod'];
  /** Share of the users, 0 to 1, who are in the control group. */
  controlShare: number;
}

/** Some users of a zone for whom it is a time of the day at which e-mails are due. */
export interface Asked extends EmailSettings {
  pool: Pool;
  userIds: readonly string[];
  /** IANA name; null: UTC. */
  zone: string | null;
  moment: LocalMoment;
}

/** An e-mail that is due for a user. */
export interface DueEmail {
  userId: string;
  /** What for, for ever: a user gets one for it, whatever becomes of the zone. */
  dueFor: string;
  payload: string;
}

/** A kind of e-mail that falls due at a time of the day in the users' zones. */
export interface EmailKind {
  readonly type: NotificationType;
  /** When; null: never, by these settings. */
  time(settings: EmailSettings): LocalTime | null;
  /** For whom of some users it is due. Reads Postgres, writes nothing. */
  due(asked: Asked): Promise<DueEmail[]>;
}

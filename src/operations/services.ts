import type { Clock } from '../clock.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import type { ConfigurationStore } from '../catalog/configuration-store.ts';
import type { EventEngine } from '../engine/events/event-engine.ts';
import type { PointsReads } from '../engine/points/points-reads.ts';
import type { UserReads } from '../engine/users/user-reads.ts';
import type { ApplicationKeys } from '../postgres/application-keys.ts';
import type { Tenants } from '../postgres/tenants.ts';

/** What the operations are handed: everything that Laurel does, made once at the composition root. */
export interface Services {
  clock: Clock;
  catalogs: Catalogs;
  configuration: ConfigurationStore;
  events: EventEngine;
  users: UserReads;
  points: PointsReads;
  tenants: Tenants;
  applicationKeys: ApplicationKeys;
}

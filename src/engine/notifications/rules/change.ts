import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { BoardPlace, NotificationSubject, NotificationType } from '../../../domain/notification.ts';
import type { HappenedRecord } from '../../../packed/record.ts';
import type { RecordedUser } from '../recorded-user.ts';

/** Whether anybody wants to hear of a type: about a subject, or, without one, of any. */
export type Wants = (type: NotificationType, about?: NotificationSubject) => boolean;

/** A record whose notifications are made. */
export interface Change {
  compiled: CompiledCatalog;
  wants: Wants;
  record: HappenedRecord;
  /** The record's user, as the entry left them: costly, so not asked for unless something is wanted. */
  user: RecordedUser;
}

/** What a rule makes of a record. `no` is unlike that of any other of its type in the record. */
export interface Reported {
  type: NotificationType;
  no: number;
  about: NotificationSubject;
  place?: BoardPlace;
  payload: string;
}

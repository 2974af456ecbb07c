export { createLaurel, type Laurel, type LaurelOptions, type ListedEvent } from './laurel.ts';
export { LaurelError, type ClientErrorCode } from './errors.ts';
export type { CallOptions, KeyedOptions, TransportOptions } from './transport.ts';
export type { SpendOptions, TrackOptions, UserCalls, UserPointsCalls } from './user.ts';
export type { LeaderboardCalls, PointsSystemCalls } from './leaderboard.ts';
export { verifyWebhook, type Message, type Webhook, type WebhookRequest } from './webhook.ts';
export { createQueue, type Queue, type QueueOptions, type QueuedTrackOptions } from './queue.ts';
export {
  indexedDbStorage,
  keyValueStorage,
  memoryStorage,
  type KeyValueStore,
  type QueuedEvent,
  type QueueStorage,
} from './queue-storage.ts';
export { createBatcher, type Batcher, type BatcherOptions } from './batcher.ts';
export type { Live, LiveMessage, LiveMessages, LiveOptions, LiveReady, LiveReset } from './live.ts';
export type * from './generated.ts';

export { createLaurel, type Laurel, type LaurelOptions, type ListedEvent } from './laurel.ts';
export { LaurelError, type ClientErrorCode } from './errors.ts';
export type { CallOptions, KeyedOptions, TransportOptions } from './transport.ts';
export type { SpendOptions, TrackOptions, UserCalls, UserPointsCalls } from './user.ts';
export type { LeaderboardCalls, PointsSystemCalls } from './leaderboard.ts';
export { verifyWebhook, type Message, type Webhook, type WebhookRequest } from './webhook.ts';
export type * from './generated.ts';

import type { NotificationType } from '../../domain/notifications/notification.ts';
import { textsOf } from './text-names.ts';

interface WebhookText {
  summary: string;
  description: string;
}

const THROTTLED =
  'At once, then at most once in 15 minutes with the latest state: changes in between are reported in one message.';
const DUE_EMAIL =
  'Says that an e-mail is due, in the user’s time zone (UTC without one). Laurel itself sends it only with a channel and a template. Not ' +
  'for users without an e-mail address, who opted out of this kind of e-mail, or who are in the control group.';
const STREAKS = 'Not for users who switched streaks off.';

/** What each type means, and when it is sent. */
export const WEBHOOK_TEXTS: Readonly<Record<NotificationType, WebhookText>> = {
  'achievement.completed': {
    summary: 'A user completed an achievement',
    description: 'At once, once for each user and achievement. Not for completions that were backdated.',
  },
  'streak.started': { summary: 'A user’s streak began', description: `At once, with a length of 1. ${STREAKS}` },
  'streak.extended': {
    summary: 'A user’s streak grew by a period',
    description: `At once. Not if a freeze kept it. ${STREAKS}`,
  },
  'streak.lost': {
    summary: 'A user’s streak ended',
    description: `After the midnight of the user that ended it, or when an administrator reset it. \`length\` is the lost length. ${STREAKS}`,
  },
  'streak.freeze_consumed': {
    summary: 'Freezes kept a user’s streak',
    description: `After the user’s midnight. \`freezes\` says how many are left. ${STREAKS}`,
  },
  'streak.freeze_earned': {
    summary: 'A user earned freezes',
    description: `After the user’s midnight. \`freezes\` says how many there are now. ${STREAKS}`,
  },
  'points.changed': {
    summary: 'A user’s points changed',
    description: `${THROTTLED} Counted for each user and points system.`,
  },
  'points.level_changed': {
    summary: 'A user reached another level, or fell back to one',
    description: 'At once. `newLevel` is null for a user who fell below the first level.',
  },
  'points.spent': {
    summary: 'Points of a user were spent',
    description: 'At once, also for a hold that was captured. `spending.balance` says what is left to spend.',
  },
  'points.refunded': {
    summary: 'A spending was refunded',
    description: 'At once. `spending.spendingId` says which, `spending.balance` what the user can spend now.',
  },
  'points.expiring': {
    summary: 'Points of a user will expire',
    description:
      'Seven days before (for points that expire sooner after they were earned: at the start of the next day, UTC), once for each user, points system and day. `expiry.amount` is what will expire on `expiry.date` unless the user spends it before.',
  },
  'points.expired': {
    summary: 'Points of a user have expired',
    description: 'At once, after midnight UTC. `expiry.balance` says what the user can still spend.',
  },
  'reward.claimed': {
    summary: 'A user claimed a reward',
    description: 'Within seconds. `claim.id` is also the ID of the spending.',
  },
  'reward.fulfilled': {
    summary: 'A user got a claimed reward',
    description: 'Within seconds after an administrator noted it.',
  },
  'reward.cancelled': {
    summary: 'A claim of a reward was cancelled',
    description: 'Within seconds. `points.refunded` reports that the points were given back.',
  },
  'points.boost_started': {
    summary: 'A boost of points begins',
    description:
      'At 10:00 UTC on the day before its first day; a boost of one user: at the midnight at which it begins for the user.',
  },
  'points.boost_finished': {
    summary: 'A boost of points is over',
    description:
      'At 13:00 UTC on the day after its last day; a boost of one user: at the midnight at which it ends for the user.',
  },
  'leaderboard.started': {
    summary: 'A leaderboard begins',
    description: 'At 10:00 UTC on the day before its first day.',
  },
  'leaderboard.changed': {
    summary: 'The places of a leaderboard changed',
    description: `${THROTTLED} Counted for each leaderboard.`,
  },
  'leaderboard.finished': {
    summary: 'A leaderboard is over',
    description: 'At 13:00 UTC on the day after its last day, when its places are final. With the top 10 only.',
  },
  'leaderboard.rank_changed': {
    summary: 'A user’s place on a leaderboard changed',
    description:
      `${THROTTLED} Counted for each user and leaderboard. Users whom others overtook are compared every 15 minutes. ` +
      '`previousRank` and `previousValue` are those reported last; a rank of null: not on the board.',
  },
  'leaderboard.rewarded': {
    summary: 'A user’s final rank was rewarded',
    description:
      'Within seconds after the run is final, once for each user and run. `points.changed` and `achievement.completed` report the same.',
  },
  'leaderboard.tier_changed': {
    summary: 'A user moved to another tier of a leaderboard’s leagues',
    description:
      'After the run is final, once for each user and run. A rank of null: the user had no score in the run.',
  },
  'user.merged': {
    summary: 'A user was merged into another',
    description:
      'At once. `user` is the user who remains, with everything of both. What both earned is not reported again.',
  },
  'emails.recap_due': {
    summary: 'A recap is due',
    description: `Monday 09:00, or the 1st 09:00 where recaps are monthly, for users with an event in the period. ${DUE_EMAIL}`,
  },
  'emails.reactivation_due': {
    summary: 'A user has been away',
    description: `10:00 on the 3rd, 5th, 7th, 14th and 30th day without an event: \`messageNumber\` 1 to 5. ${DUE_EMAIL}`,
  },
  'emails.streak_reminder_due': {
    summary: 'A streak is about to end',
    description:
      '4 hours before the day ends for daily streaks, Friday 09:00 for weekly ones, the 25th 09:00 for monthly ones; only while the ' +
      `streak would end. ${DUE_EMAIL}`,
  },
  'emails.achievement_due': {
    summary: 'An e-mail about a completed achievement is due',
    description:
      'Between 17:00 and 21:00 of the day on which it was completed; the next day at 17:00 if it was completed after 21:00. Several on one ' +
      `evening are reported one by one. ${DUE_EMAIL}`,
  },
};

export const PAYLOAD_TEXTS: Readonly<Record<string, string>> = {
  boost: 'The boost.',
  consumed: 'How many freezes were consumed.',
  daysSinceLastActive: 'Days since the user’s last event.',
  earned: 'How many freezes were earned.',
  leaderboard: 'The leaderboard.',
  messageNumber: 'Number of the message in this absence, 1 to 5.',
  newLevel: 'The level that the points reach now; null: none.',
  previousLevel: 'The level that they reached before; null: none.',
  merge: 'The merge.',
  'merge.from': 'The ID of the user who is gone. It stands for the other user from now on.',
  'merge.into': 'The ID of the user who remains.',
  'merge.mergedAt': 'When the users were merged.',
  'payload.freezes': 'How many freezes the user has now.',
  'payload.length': 'Length of the streak, in periods.',
  'payload.points': 'The points system, with the user’s total.',
  'payload.reactivation': 'How long the user has been away.',
  'payload.recap': 'The period that the recap is about.',
  'payload.streak': 'The current streak.',
  'payload.timestamp': 'When it became due.',
  'payload.user': 'The user at the reported time.',
  'recap.periodStart': 'First local day of the period.',
  'recap.periodEnd': 'Last local day of the period.',
};

export const LIVE_TEXTS: Readonly<Record<string, string>> = {
  boards: 'Keys or IDs of the leaderboards whose changes, and the user’s ranks, are reported.',
  metricIds: 'Among messages about a metric, only those of these metrics.',
  leaderboardIds: 'Among messages about a leaderboard, only those of these leaderboards.',
  pointsSystemIds: 'Among messages about a points system, only those of these points systems.',
  ticket: 'Opens one stream: `GET /v1/live?ticket=…`.',
  expiresIn: 'Seconds until the ticket expires.',
  '(live|admin_live)_tickets_create.types': 'Only messages of these types; all if omitted.',
  'live_tickets_create.userId': 'Only messages about this user. An application key may only name its own user.',
  'admin_live_tickets_create.userId': 'Only messages about this user.',
};

/** What fields of a webhook's messages mean, wherever they are. */
const MESSAGE: Readonly<Record<string, string>> = {
  id: 'ID of the message: the `webhook-id` that the receiver sees.',
  at: 'When the reported change happened.',
  created: 'When the message was created.',
  status: '`pending`: it waits for its first or next attempt. `failed`: there is no further attempt.',
  tries: 'How often the message was sent.',
  reason: 'Why the last attempt failed; null: it did not fail.',
  userId: 'ID of the user whom it concerns; null: none.',
};

/** Fields of the log of webhooks, and of their state. */
export const WEBHOOK_LOG_TEXTS: Readonly<Record<string, string>> = {
  attempts: 'Every attempt to deliver the message, oldest first.',
  'attempts.at': 'When the attempt began, by the machine’s clock.',
  'attempts.status': 'Status of the answer; null: none came.',
  'attempts.error': 'Why it failed, as a sentence; null: it was delivered.',
  answer: 'The beginning of the answer, at most 4 KiB; null: none came.',
  previousUntil: 'When the previous secret stops signing; null: there is none.',
  secret: 'Signs the webhook’s messages; shown only once.',
  deliveries: 'Messages of the log, newest first.',
  disabledAt: 'When Laurel disabled it; null: it did not.',
  disabledReason: 'Why Laurel disabled it, as a sentence; null: it did not, or it is enabled again.',
  durationMs: 'Duration of the attempt.',
  failingSince: 'When the first of these attempts failed; null: the last one succeeded.',
  failures: 'Failed attempts since the last success.',
  full: 'Whether the queue is full, so that further messages are logged as failed.',
  lastStatus: 'Status of the answer to the last attempt; null: no attempt, or no answer.',
  nextTry: 'Time of the next attempt; null: it does not wait.',
  oldest: 'When the oldest waiting message was created; null: none waits.',
  pausedUntil:
    'Until this time (by the machine’s clock) nothing is sent, because the last attempts failed; null: not paused.',
  payload: 'The body that is sent.',
  resent: 'How many messages were queued so far.',
  sequence: 'The `webhook-sequence` of the message: greater than those of earlier messages about the same user.',
  test: 'Whether it is an example requested by an administrator.',
  types: 'Only messages of these types; null: of all.',
  'admin_webhooks_(resend|resends_list).from':
    'Messages created from this time on; null: from the beginning of the log.',
  'admin_webhooks_(resend|resends_list).to': 'Messages created before this time; null: before the request.',
  'admin_webhooks_(resend|resends_list).total': 'How many to queue; null: not counted yet.',
  waiting: 'How many messages wait to be sent, or to be sent again.',
  'admin_webhooks_(resend|resends_list).status': 'Which messages: those that failed, or those that were delivered.',
  'webhook.id': 'ID of the webhook.',
  'webhook.name': 'Name of the webhook.',
  ...textsOf('admin_webhooks_(deliveries_(list|get|resend)|test)', MESSAGE),
};

import { queryOptions } from '@tanstack/react-query';
// oxlint-disable-next-line no-restricted-imports -- a rule of plain text that the API applies, too
import { comparableLocale } from '../../../../src/domain/notifications/message-variables.ts';
import type { paths } from '../../../generated/admin.ts';
import { answer, Problem } from '../../api/answer.ts';
import { admin } from '../../api/client.ts';
import type { AdminRead } from '../../api/queries.ts';
import type { Medium } from './words.ts';

export type Channel = AdminRead<'/v1/messages/channel'>;
export type Settings = Required<NonNullable<AdminRead<'/v1/configuration'>['messages']>>;
export type PushChannel = AdminRead<'/v1/messages/push-channels'>['channels'][number];
export type Feedback = AdminRead<'/v1/messages/feedback'>;

type Post<Path extends keyof paths> = paths[Path] extends {
  post: { responses: { 200: { content: { 'application/json': infer Body } } } };
}
  ? Body
  : never;
export type EmailPreview = Post<'/v1/messages/preview'>;
export type PushPreview = Post<'/v1/messages/preview/push'>;

/** The answer of a read; `null` if it is 404. */
async function orNone<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return null;
    throw error;
  }
}

/** The channel; `null` if there is none. */
export const channelQuery = queryOptions({
  queryKey: ['messages', 'channel'],
  queryFn: (): Promise<Channel | null> => orNone(answer(admin.GET('/v1/messages/channel'))),
});

/** The address at which the provider reports, without its secret part; `null` if there is none. */
export const feedbackQuery = queryOptions({
  queryKey: ['messages', 'feedback'],
  queryFn: (): Promise<Feedback | null> => orNone(answer(admin.GET('/v1/messages/feedback'))),
});

export const pushChannelsQuery = queryOptions({
  queryKey: ['messages', 'push channels'],
  queryFn: async (): Promise<PushChannel[]> => (await answer(admin.GET('/v1/messages/push-channels'))).channels,
});

export const readinessQuery = queryOptions({
  queryKey: ['messages', 'readiness'],
  queryFn: () => answer(admin.GET('/v1/messages/readiness')),
});

export const readSettings = async (): Promise<Settings> =>
  (await answer(admin.GET('/v1/configuration'))).messages as Settings;

/** Templates and rules. They are part of the configuration, which has no smaller reading. */
export const settingsQuery = queryOptions({
  queryKey: ['messages', 'settings'],
  queryFn: readSettings,
});

/** Applies a part of the messages' section as a new version of the configuration; the rest of it stays unchanged. */
export const applySettings = (messages: Partial<Settings>) =>
  answer(admin.PUT('/v1/configuration', { body: { messages } }));

const RECENT = 20;
const RECENT_MS = 10_000;

/** Messages of a medium that wait, the newest first. */
export const waitingQuery = (medium: Medium) =>
  queryOptions({
    queryKey: ['messages', 'waiting', medium],
    refetchInterval: RECENT_MS,
    queryFn: async () =>
      (await answer(admin.GET('/v1/messages', { params: { query: { medium, status: 'waiting', limit: RECENT } } })))
        .messages,
  });

/** The name of a template's language in its address; `ALL`: for users without a language of their own. */
export const ALL = 'all';

/** `German (de)`; without a locale `All other users`, and `All users` if it is the only one. */
export function localeText(locale: string | undefined, isOnly = false): string {
  if (locale === undefined) return isOnly ? 'All users' : 'All other users';
  const name = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' }).of(locale);
  return name === undefined ? locale : `${name} (${locale})`;
}

/** Whether two locales are the same to the API. */
export const sameLocale = (one = '', other = ''): boolean => comparableLocale(one) === comparableLocale(other);

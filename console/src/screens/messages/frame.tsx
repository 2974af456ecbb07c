import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleCheck, CircleX, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { Screen } from '../../ui/parts.tsx';
import { TAB, TAB_BAR } from '../../ui/tabs.ts';
import { attentionQuery } from '../../api/attention.ts';
import { type Check, checksOf, type FailingChannel, pushChecksOf } from './checks.ts';
import { channelQuery, pushChannelsQuery, readinessQuery, settingsQuery, waitingQuery } from './queries.ts';

const TABS = [
  { to: '/messages', text: 'Templates', medium: 'email' },
  { to: '/messages/channel', text: 'Channel', medium: 'email' },
  { to: '/messages/push', text: 'Push templates', medium: 'push' },
  { to: '/messages/push-channels', text: 'Push channels', medium: 'push' },
  { to: '/messages/log', text: 'Log', medium: 'email' },
] as const;

/** On a phone, the bar scrolls to the tab that is open. */
const showCurrent = (bar: HTMLElement | null): void =>
  bar?.querySelector('[aria-current=page]')?.scrollIntoView({ block: 'nearest', inline: 'center' });

/** A tab of the messages, with what keeps its medium from being sent. */
export function MessagesScreen({ tab, children }: { tab: (typeof TABS)[number]['text']; children: ReactNode }) {
  const { to: here, medium } = TABS.find(({ text }) => text === tab)!;
  return (
    <Screen
      title="Messages"
      name={tab === 'Templates' ? 'Messages' : `${tab} of messages`}
      about="E-mails and push notifications that Laurel sends itself, to bring users back: you write templates, your mail server and push providers deliver them."
    >
      <nav ref={showCurrent} aria-label="Messages" className={TAB_BAR}>
        {TABS.map(({ to, text }) => (
          <Link key={to} to={to} activeOptions={{ exact: true }} className={TAB}>
            {text}
          </Link>
        ))}
      </nav>
      {medium === 'email' ? <EmailChecks here={here} /> : <PushChecks here={here} />}
      {children}
    </Screen>
  );
}

/** Channels that keep failing. */
function useFailing(): FailingChannel[] | undefined {
  const items = useQuery(attentionQuery).data;
  return items?.flatMap(({ channel, count, reason }) => (channel === null ? [] : [{ channel, count, reason }]));
}

function EmailChecks({ here }: { here: string }) {
  const channel = useQuery(channelQuery).data;
  const readiness = useQuery(readinessQuery).data;
  const settings = useQuery(settingsQuery).data;
  const waiting = useQuery(waitingQuery('email')).data;
  const failing = useFailing();
  if (channel === undefined || !readiness || !settings || !waiting || !failing) return null;
  return <Checks of="e-mails" checks={checksOf({ channel, readiness, settings, waiting, failing })} here={here} />;
}

function PushChecks({ here }: { here: string }) {
  const channels = useQuery(pushChannelsQuery).data;
  const readiness = useQuery(readinessQuery).data;
  const settings = useQuery(settingsQuery).data;
  const waiting = useQuery(waitingQuery('push')).data;
  const failing = useFailing();
  if (!channels || !readiness || !settings || !waiting || !failing) return null;
  const checks = pushChecksOf({ channels, readiness, settings, waiting, failing });
  return <Checks of="push notifications" checks={checks} here={here} />;
}

/** Says whether messages are sent, and what to do if not. */
function Checks({ of, checks, here }: { of: string; checks: readonly Check[]; here: string }) {
  const isSending = checks.every(({ state }) => state !== 'missing');
  return (
    <section
      aria-label="Status"
      className="flex flex-col gap-2 rounded-lg border border-line bg-surface px-3 py-2.5 empty:hidden"
    >
      <p className="flex items-start gap-2 font-semibold">
        {isSending ? (
          <CircleCheck size={16} className="mt-0.5 shrink-0 text-accent" aria-hidden />
        ) : (
          <CircleX size={16} className="mt-0.5 shrink-0 text-danger" aria-hidden />
        )}
        {isSending ? `${of.charAt(0).toUpperCase()}${of.slice(1)} are sent.` : `No ${of} are sent.`}
      </p>
      {checks.length > 0 && (
        <ul className="flex flex-col gap-2">
          {checks.map((check) => (
            <CheckLine key={check.text} check={check} here={here} />
          ))}
        </ul>
      )}
    </section>
  );
}

const PLACES = {
  '/messages': 'Open the templates',
  '/messages/channel': 'Open the channel',
  '/messages/push': 'Open the push templates',
  '/messages/push-channels': 'Open the push channels',
} as const;

const CheckLine = ({ check: { state, text, advice, to }, here }: { check: Check; here: string }) => (
  <li className="flex items-start gap-2">
    <TriangleAlert
      size={16}
      className={`mt-0.5 shrink-0 ${state === 'missing' ? 'text-danger' : 'text-warn'}`}
      aria-hidden
    />
    <div className="min-w-0 break-words">
      {text} <span className="text-muted">{advice}</span>{' '}
      {to !== null && to !== here && (
        <Link to={to} activeOptions={{ exact: true }} className="whitespace-nowrap text-accent underline">
          {PLACES[to]}
        </Link>
      )}
    </div>
  </li>
);

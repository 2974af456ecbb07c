import { Link } from '@tanstack/react-router';
import {
  Activity,
  ArrowRightLeft,
  Award,
  Bell,
  BookOpen,
  Building2,
  ChartLine,
  Coins,
  FileJson,
  Flame,
  Gauge,
  Gift,
  History,
  KeyRound,
  ListChecks,
  ListOrdered,
  Mail,
  ScrollText,
  Server,
  Settings,
  ShieldAlert,
  Tags,
  Upload,
  Users,
} from 'lucide-react';
import { badgesOf, useAttention, type ScreenBadge } from '../api/attention.ts';
import { Logo } from '../ui/logo.tsx';

export const PARTS = [
  {
    name: null,
    links: [
      { to: '/', text: 'Overview', icon: Gauge },
      { to: '/users', text: 'Users', icon: Users },
      { to: '/analytics', text: 'Analytics', icon: ChartLine },
    ],
  },
  {
    name: 'Set up',
    links: [
      { to: '/metrics', text: 'Metrics', icon: Activity },
      { to: '/attributes', text: 'Attributes', icon: Tags },
      { to: '/achievements', text: 'Achievements', icon: Award },
      { to: '/points', text: 'Points', icon: Coins },
      { to: '/rewards', text: 'Rewards', icon: Gift },
      { to: '/leaderboards', text: 'Leaderboards', icon: ListOrdered },
      { to: '/streaks', text: 'Streaks', icon: Flame },
      { to: '/messages', text: 'Messages', icon: Mail },
      { to: '/webhooks', text: 'Webhooks', icon: Bell },
      { to: '/configuration', text: 'Configuration', icon: FileJson },
    ],
  },
  {
    name: 'Operate',
    links: [
      { to: '/organisation', text: 'Organisation', icon: Settings },
      { to: '/keys', text: 'Keys', icon: KeyRound },
      { to: '/tenants', text: 'Tenants', icon: Building2 },
      { to: '/import', text: 'Import', icon: Upload },
      { to: '/quarantine', text: 'Quarantine', icon: ShieldAlert },
      { to: '/recomputations', text: 'Recomputations', icon: History },
      { to: '/jobs', text: 'Jobs', icon: ListChecks },
      { to: '/requests', text: 'Requests', icon: ArrowRightLeft },
      { to: '/audit-log', text: 'Audit log', icon: ScrollText },
      { to: '/system', text: 'System', icon: Server },
    ],
  },
] as const;

const LINK =
  'flex h-8 items-center gap-2.5 rounded-md px-2 text-muted hover:bg-hover hover:text-text ' +
  'data-[status=active]:bg-accent-soft data-[status=active]:font-medium data-[status=active]:text-accent-strong';

/** A badge has no room for larger numbers. */
const MOST_SHOWN = 999;

/** How much needs attention on a screen, in figures; for screen readers, in words. */
const Badge = ({ of: { count, meaning, isUrgent } }: { of: ScreenBadge }) => (
  <span className="ml-auto" title={meaning}>
    <span
      aria-hidden
      className={`inline-block min-w-5 rounded-full px-1.5 text-center text-xs leading-5 font-medium ${isUrgent ? 'bg-danger-soft text-danger' : 'bg-warn-soft text-warn'}`}
    >
      {count > MOST_SHOWN ? `${MOST_SHOWN}+` : count}
    </span>
    <span className="sr-only">, needs attention: {meaning}</span>
  </span>
);

/** Links to every screen, with badges where something needs attention. */
export function Navigation({ onChosen }: { onChosen?: () => void }) {
  const badges = badgesOf(useAttention());
  return (
    <nav aria-label="Screens" className="flex min-h-full flex-col gap-4 p-3">
      <Link to="/" onClick={onChosen} className="flex items-center gap-2 px-2 py-1 text-base font-semibold">
        <Logo /> Laurel
      </Link>
      {PARTS.map(({ name, links }) => (
        <div key={name ?? ''}>
          {name !== null && <p className="px-2 pb-1 text-xs text-muted">{name}</p>}
          <ul>
            {links.map(({ to, text, icon: Icon }) => {
              const badge = badges.get(to);
              return (
                <li key={to}>
                  <Link to={to} onClick={onChosen} activeOptions={{ exact: to === '/' }} className={LINK}>
                    <Icon size={15} aria-hidden /> {text}
                    {badge !== undefined && <Badge of={badge} />}
                  </Link>
                </li>
              );
            })}
          </ul>
        </div>
      ))}
      <a href="/reference" className={`${LINK} mt-auto`}>
        <BookOpen size={15} aria-hidden /> API reference
      </a>
    </nav>
  );
}

import { Link } from '@tanstack/react-router';
import { ChartLine } from 'lucide-react';
import type { AnalyticsSearch } from '../screens/analytics/search.ts';
import { buttonLook } from '../ui/button.tsx';

/** A link from a resource to its analysis. `of`: the resource's name, if the link is only an icon. */
export const AnalysisLink = ({ to, of, className = '' }: { to: AnalyticsSearch; of?: string; className?: string }) =>
  of === undefined ? (
    <Link to="/analytics" search={to} className={`${buttonLook()} max-md:h-11 ${className}`}>
      <ChartLine size={15} aria-hidden /> Analytics
    </Link>
  ) : (
    <Link
      to="/analytics"
      search={to}
      aria-label={`Analytics of ${of}`}
      title="Analytics"
      className={`${buttonLook('bare')} size-8 px-0 max-md:size-11 ${className}`}
    >
      <ChartLine size={14} />
    </Link>
  );

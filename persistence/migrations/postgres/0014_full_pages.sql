-- Runs that come and go by the thousand fill pages: half of each was left free
-- for renewed leases and progress. The few runs of slow jobs find room all the
-- same: what ended leaves it, and a page that nobody fills has it. A claim costs
-- 6 % less, an end 4.
ALTER TABLE reeve.running SET (fillfactor = 90);
